//! Shows where two pictures differ.

use super::shrinker::Image;

/// By how much differences are amplified. A difference of 64 of 255 is shown as bright as can be.
const AMPLIFIED: u8 = 4;

/// The difference of two pictures of equal size: black where they are equal, brighter where they differ more.
/// Its longest side has at most `side` pixels, each of which shows the greatest difference of those it stands
/// for, so that a small difference is not lost. `None` if the sizes differ.
pub fn difference(one: &Image, two: &Image, side: u32) -> Option<Image> {
    if (one.width, one.height) != (two.width, two.height) {
        return None;
    }
    let step = one.width.max(one.height).div_ceil(side.max(1)).max(1);
    let (width, height) = (one.width.div_ceil(step), one.height.div_ceil(step));
    let mut rgba = vec![[0, 0, 0, u8::MAX]; width as usize * height as usize];
    for (at, (one_pixel, two_pixel)) in one.rgba.iter().zip(&two.rgba).enumerate() {
        let (x, y) = (at as u32 % one.width, at as u32 / one.width);
        let shown = &mut rgba[(y / step * width + x / step) as usize];
        let by = |channel: usize| one_pixel[channel].abs_diff(two_pixel[channel]);
        // Alpha has no colour of its own, so a difference in it is white.
        for (channel, value) in shown.iter_mut().take(3).enumerate() {
            *value = (*value).max(by(channel).max(by(3)).saturating_mul(AMPLIFIED));
        }
    }
    Some(Image { width, height, rgba })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grey(width: u32, height: u32) -> Image {
        Image { width, height, rgba: vec![[100, 100, 100, 255]; (width * height) as usize] }
    }

    #[test]
    fn a_small_difference_is_amplified_and_not_lost_in_a_smaller_picture() {
        let (one, mut two) = (grey(10, 5), grey(10, 5));
        two.rgba[49] = [90, 100, 200, 255];
        let shown = difference(&one, &two, 4).unwrap();
        assert_eq!((shown.width, shown.height), (4, 2));
        assert_eq!(shown.rgba[7], [40, 0, 255, 255]);
        assert!(shown.rgba[..7].iter().all(|pixel| *pixel == [0, 0, 0, 255]));
        two.rgba[49] = [100, 100, 100, 245];
        assert_eq!(difference(&one, &two, 4).unwrap().rgba[7], [40, 40, 40, 255]);
        assert_eq!(difference(&one, &grey(5, 10), 4), None);
    }
}
