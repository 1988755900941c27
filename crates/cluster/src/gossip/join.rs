//! What a node asks before it joins: whether the seeds belong to its cluster, and whether a node of its name is alive.

use std::time::{Duration, Instant};

use futures_util::future::join_all;

use super::INTERVAL;
use super::frame::Frame;
use super::transport::Links;
use signaldex::text::quoted;
use signaldex::{Error, Result};

/// How long seeds are asked that do not answer. The first node of a cluster waits for so long.
const JOIN_TIME: Duration = Duration::from_secs(3);

/// Asks the seeds until another node answers, where that is needed, but not for ever. Returns whether one has.
///
/// # Errors
/// A seed belongs to another cluster, or a node of this name is alive.
pub(super) async fn ask_seeds(links: &Links, seeds: &[String], is_needed: bool) -> Result<bool> {
    let own = &links.identity().address;
    let has_others = seeds.iter().any(|seed| seed != own);
    let started = Instant::now();
    loop {
        // At this node's own address another process may answer, behind a load balancer or on another machine.
        let asked = seeds.iter().chain((!seeds.contains(own)).then_some(own));
        let answers = asked.map(async |seed| (seed, links.ask_who(seed).await));
        let mut has_answer = false;
        for (seed, answer) in join_all(answers).await {
            if let Some(answer) = answer {
                has_answer |= check(links, seed, &answer).await?;
            }
        }
        if has_answer || !is_needed || !has_others || started.elapsed() >= JOIN_TIME {
            return Ok(has_answer);
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Checks the answer of a seed. Returns whether it is another node.
async fn check(links: &Links, seed: &str, answer: &Frame) -> Result<bool> {
    let own = links.identity();
    let cluster = answer.cluster.as_deref().unwrap_or_default();
    if cluster != own.cluster {
        let (cluster, own) = (quoted(cluster), quoted(&own.cluster));
        return Err(Error::invalid(format!(
            "seeds: {seed} belongs to the cluster {cluster}, not to {own}; correct the file of the cluster"
        )));
    }
    check_answer(links, seed, answer)?;
    if let Some(namesake) = &answer.namesake {
        check_namesake(links, namesake).await?;
    }
    Ok(answer.incarnation != Some(own.incarnation))
}

/// Checks that no other process of this node's name answers at an address.
///
/// # Errors
/// One does.
pub(super) async fn check_namesake(links: &Links, address: &str) -> Result<()> {
    match links.ask_who(address).await {
        Some(answer) => check_answer(links, address, &answer),
        None => Ok(()),
    }
}

fn check_answer(links: &Links, address: &str, answer: &Frame) -> Result<()> {
    let own = links.identity();
    let is_namesake = answer.name.as_ref() == Some(&own.name)
        && answer.cluster.as_ref() == Some(&own.cluster)
        && answer.incarnation != Some(own.incarnation);
    if !is_namesake {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "node: {} is alive at {address}; start this one with another --node, or stop that one first",
        quoted(&own.name)
    )))
}
