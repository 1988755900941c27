//! White-box tests of `state/replay_store.rs`.

use super::*;
fn new_replay(body: &[u8]) -> NewReplay {
    let name = "name-0000".to_owned();
    NewReplay::compress(name, [7; 32], "tag".to_owned(), body).expect("compressed")
}

#[test]
fn a_kept_answer_comes_back_whole_or_not_at_all() {
    for length in [0, 1, 70_000, 20_000_000] {
        let body: Vec<u8> = (0..length).map(|byte: u32| byte as u8).collect();
        let kept = new_replay(&body);
        assert!(decompress(&kept.body, kept.length).as_ref() == Some(&body));
        assert_eq!(decompress(&kept.body, kept.length + 1), None);
        assert_eq!(decompress(&kept.body, u64::MAX), None);
        if length > 0 {
            assert_eq!(decompress(&kept.body, kept.length - 1), None);
            let cut = &kept.body[..kept.body.len() - 1];
            assert_eq!(decompress(cut, kept.length), None);
        }
    }
}
