//! White-box tests of `gossip/intake.rs`: what chitchat writes is let through, and what would end it is not.

use std::net::SocketAddr;

use chitchat::{ChitchatId, ChitchatMessage, Deserializable, Serializable};
use proptest::prelude::*;

use super::*;

const CLUSTER: &str = "signals";

fn id(name: &str, incarnation: u64) -> Vec<u8> {
    let address = SocketAddr::from(([10, 0, 0, 1], 7_400));
    ChitchatId::new(name, incarnation, address).serialize_to_vec()
}

fn own() -> Vec<u8> {
    id("own", 1)
}

fn intake(listed: Option<&[&str]>) -> Intake {
    let listed = listed.map(|names| names.iter().map(|&name| name.to_owned()).collect());
    Intake::new(own(), CLUSTER.to_owned(), listed)
}

fn header(kind: u8) -> Vec<u8> {
    vec![0x53, 0xb0, 0, kind]
}

fn with_length(bytes: &[u8]) -> Vec<u8> {
    let length = u16::try_from(bytes.len()).expect("a length");
    [&length.to_le_bytes()[..], bytes].concat()
}

fn digest(ids: &[Vec<u8>]) -> Vec<u8> {
    let count = u16::try_from(ids.len()).expect("a count");
    let mut bytes = count.to_le_bytes().to_vec();
    for id in ids {
        bytes.extend_from_slice(id);
        for version in [5_u64, 0, 9] {
            bytes.extend_from_slice(&version.to_le_bytes());
        }
    }
    bytes
}

fn syn(ids: &[Vec<u8>]) -> Vec<u8> {
    [header(SYN), digest(ids), with_length(CLUSTER.as_bytes())].concat()
}

fn process(id: &[u8]) -> Vec<u8> {
    [&[PROCESS][..], id, &[0; 16]].concat()
}

fn text(key: &str, text: &str, version: u64) -> Vec<u8> {
    let (key, text) = (with_length(key.as_bytes()), with_length(text.as_bytes()));
    [&[TEXT][..], &key, &text, &version.to_le_bytes(), &[0]].concat()
}

fn lone_version(version: u64) -> Vec<u8> {
    [&[VERSION][..], &version.to_le_bytes()].concat()
}

fn ack(operations: &[Vec<u8>]) -> Vec<u8> {
    let operations = operations.concat();
    let mut message = header(ACK);
    for block in operations.chunks(BLOCK_BYTES_MAX) {
        message.push(PLAIN);
        message.extend(with_length(block));
    }
    message.push(END);
    message
}

/// What is let through, as chitchat reads it.
fn admitted(intake: &mut Intake, message: &[u8]) -> Vec<u8> {
    let admitted = intake.admit(message, Instant::now());
    let message = admitted.expect("a message").message;
    ChitchatMessage::deserialize(&mut &message[..]).expect("chitchat reads it");
    message
}

/// An intake that knows two other processes.
fn with_others() -> Intake {
    let mut intake = intake(None);
    let message = syn(&[id("one", 1), id("two", 1)]);
    assert_eq!(admitted(&mut intake, &message), message);
    intake
}

#[test]
fn what_chitchat_writes_is_let_through() {
    let cluster_id = CLUSTER.to_owned();
    for message in [
        ChitchatMessage::Syn {
            cluster_id,
            digest: Default::default(),
        },
        ChitchatMessage::SynAck {
            digest: Default::default(),
            delta: Default::default(),
        },
        ChitchatMessage::Ack {
            delta: Default::default(),
        },
        ChitchatMessage::BadCluster,
    ] {
        let message = message.serialize_to_vec();
        assert_eq!(admitted(&mut intake(None), &message), message);
    }
    let operations = [
        process(&id("one", 1)),
        text("address", "10.0.0.1:7400", 3),
        text("shards/7", "0-3,7", 4),
        process(&id("two", 1)),
        lone_version(9),
    ];
    let message = ack(&operations);
    assert_eq!(admitted(&mut with_others(), &message), message);
    let block = zstd::bulk::compress(&operations.concat(), 0).expect("a block");
    let compressed = [
        header(ACK),
        vec![COMPRESSED],
        with_length(&block),
        vec![END],
    ]
    .concat();
    assert_eq!(admitted(&mut with_others(), &compressed), message);
}

#[test]
fn what_would_end_chitchat_is_refused() {
    let one = || process(&id("one", 1));
    let zeros = zstd::bulk::compress(&[0; BLOCK_BYTES_MAX], 0).expect("a block");
    let zeros = [vec![COMPRESSED], with_length(&zeros)].concat();
    let mut other_cluster = syn(&[]);
    other_cluster.pop();
    other_cluster.push(b'x');
    for (expected, message) in [
        (
            "do not ascend",
            ack(&[one(), text("a", "", 2), text("b", "", 2)]),
        ),
        ("do not ascend", ack(&[one(), text("a", "", 0)])),
        (
            "another version",
            ack(&[one(), text("a", "", 9), lone_version(1)]),
        ),
        (
            "belongs to no process",
            ack(&[one(), lone_version(1), text("a", "", 9)]),
        ),
        ("belongs to no process", ack(&[text("a", "", 9)])),
        (
            "too long",
            [header(ACK), zeros.repeat(65), vec![END]].concat(),
        ),
        ("an unknown kind", [header(ACK), vec![7]].concat()),
        ("after its end", [ack(&[]), vec![0]].concat()),
        ("another cluster", other_cluster),
    ] {
        let refused = with_others().admit(&message, Instant::now()).err();
        let reason = refused.expect(expected).to_string();
        assert!(reason.contains(expected), "{expected}: {reason}");
    }
}

#[test]
fn texts_of_this_process_and_of_unknown_ones_are_left_out() {
    let of = |id: &[u8]| [process(id), text("address", "10.0.0.1:7400", u64::MAX)].concat();
    let one = of(&id("one", 1));
    let message = ack(&[of(&own()), one.clone(), of(&id("three", 1))]);
    assert_eq!(admitted(&mut with_others(), &message), ack(&[one]));
}

#[test]
fn texts_of_a_process_are_bounded() {
    let mut intake = with_others();
    let large = "x".repeat(60_000);
    let of_one = |version| ack(&[process(&id("one", 1)), text("a", &large, version)]);
    let let_through = |intake: &mut Intake, version| admitted(intake, &of_one(version)) != ack(&[]);
    let taken = (1..20).take_while(|&version| let_through(&mut intake, version));
    assert_eq!(taken.count(), PROCESS_BYTES_MAX / (60_000 + TEXT_OVERHEAD));
    // Another process has room, and so has this one once chitchat has replaced the former texts.
    let of_two = ack(&[process(&id("two", 1)), text("a", &large, 1)]);
    assert_eq!(admitted(&mut intake, &of_two), of_two);
    let held = HashMap::from([(id("one", 1), 60_000), (id("two", 1), 60_000)]);
    intake.settle(&held, Instant::now() + WAITING_TIME);
    assert!(let_through(&mut intake, 20));
}

#[test]
fn names_are_bounded_and_forgotten_with_chitchat() {
    let mut intake = intake(None);
    let ids: Vec<Vec<u8>> = (0..600).map(|number| id("one", number)).collect();
    let now = Instant::now();
    let told = intake.admit(&syn(&ids), now).expect("a message");
    assert!(told.is_full);
    assert_eq!(told.message, syn(&ids[..PROCESSES_MAX - 1]));
    // What may be waiting for chitchat counts.
    intake.settle(&HashMap::from([(own(), 0)]), now);
    assert_eq!(admitted(&mut intake, &syn(&ids[599..])), syn(&[]));
    intake.settle(&HashMap::from([(own(), 0)]), now + 2 * WAITING_TIME);
    assert_eq!(admitted(&mut intake, &syn(&ids[599..])), syn(&ids[599..]));
}

#[test]
fn names_that_no_node_has_are_left_out() {
    let ids = ["one", "", "one two", "two"].map(|name| id(name, 1));
    let message = syn(&ids);
    let both = [ids[0].clone(), ids[3].clone()];
    assert_eq!(admitted(&mut intake(None), &message), syn(&both));
    let mut listed = intake(Some(&["own", "two"]));
    assert_eq!(admitted(&mut listed, &message), syn(&ids[3..]));
}

/// A digest of all processes, with the longest names, leaves room for a delta in a message of chitchat.
#[test]
fn a_digest_of_all_processes_fits_into_a_message() {
    let address = SocketAddr::from(([0xfd00_u16, 0, 0, 0, 0, 0, 0, 1], 7_400));
    let longest = ChitchatId::new("x".repeat(64), 1, address).serialize_to_vec();
    let all = digest(&vec![longest; PROCESSES_MAX]).len();
    assert!(all + 100 < 65_507, "{all}");
}

proptest! {
    #[test]
    fn any_bytes_are_let_through_or_refused(kind in 0_u8..5, bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let message = [header(kind), bytes].concat();
        let _ = with_others().admit(&message, Instant::now());
    }

    /// A message with a damaged byte is refused, or one that chitchat reads.
    #[test]
    fn a_damaged_message_is_no_danger(position in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let operations = [process(&id("one", 1)), text("a", "b", 3), text("c", "d", 4)];
        let delta = ack(&operations)[HEADER_BYTES..].to_vec();
        let mut message = [header(SYN_ACK), digest(&[id("one", 1)]), delta].concat();
        let position = position.index(message.len());
        message[position] = byte;
        if let Ok(admitted) = with_others().admit(&message, Instant::now()) {
            let _ = ChitchatMessage::deserialize(&mut &admitted.message[..]);
        }
    }
}
