//! Enums that are tables: each row has a variant and the texts that belong to it.

/// Defines an enum whose variants each have a text, and the method that returns it. The rows may have
/// more texts, which a second method returns, as a tuple if there are several. Then `ALL` has all
/// variants.
macro_rules! named {
    (
        $(#[$of_enum:meta])* $vis:vis enum $Enum:ident;
        $(#[$of_text:meta])* fn $text:ident;
        $($(#[$of_row:meta])* $variant:ident = $value:literal;)+
    ) => {
        $(#[$of_enum])*
        $vis enum $Enum {
            $($(#[$of_row])* $variant,)+
        }

        impl $Enum {
            $(#[$of_text])*
            $vis fn $text(self) -> &'static str {
                match self { $(Self::$variant => $value,)+ }
            }
        }
    };
    (
        $(#[$of_enum:meta])* $vis:vis enum $Enum:ident;
        $(#[$of_text:meta])* fn $text:ident;
        $(#[$of_more:meta])* fn $more:ident -> $More:ty;
        $($(#[$of_row:meta])* $variant:ident = $value:literal, $($rest:literal),+;)+
    ) => {
        named! {
            $(#[$of_enum])* $vis enum $Enum;
            $(#[$of_text])* fn $text;
            $($(#[$of_row])* $variant = $value;)+
        }

        impl $Enum {
            /// All variants, in the order of the table.
            #[allow(dead_code)] // few enums need it
            $vis const ALL: &'static [Self] = &[$(Self::$variant),+];

            $(#[$of_more])*
            $vis fn $more(self) -> $More {
                match self { $(Self::$variant => ($($rest),+),)+ }
            }
        }
    };
}

pub(crate) use named;
