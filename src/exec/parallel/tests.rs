//! Parts of blocks on executors of any number of threads, busy ones and those that never call a task.

use std::thread;

use super::*;
use crate::Error;

/// Calls a task on this many threads.
struct Threads(usize);

impl Executor for Threads {
    fn run(&self, task: &(dyn Fn() + Sync)) {
        thread::scope(|scope| (0..self.0).for_each(|_| drop(scope.spawn(task))));
    }
}

/// Splits everything.
const ALWAYS: SplitLimits = SplitLimits {
    rows_min: 0,
    part_blocks: 3,
    rest_min: Duration::ZERO,
    late_min: Duration::ZERO,
    alone_after_late: 0,
};

fn shared(threads: usize, limits: SplitLimits) -> SharedExecutor {
    SharedExecutor::new(Arc::new(Threads(threads)), limits)
}

/// The blocks that are visited, sorted, and in how many parts.
fn visited(executor: &SharedExecutor, len: u32) -> (Vec<u32>, usize) {
    let visit = |(blocks, parts): &mut (Vec<u32>, usize), part: Range<u32>| {
        blocks.extend(part);
        *parts += 1;
        Ok(())
    };
    let merge = |(blocks, parts): &mut (Vec<u32>, usize), other: (Vec<u32>, usize)| {
        blocks.extend(other.0);
        *parts += other.1;
    };
    let start = || (Vec::new(), 0);
    let (mut blocks, parts) = fold(Some(executor), len, start, visit, merge).expect("no error");
    blocks.sort_unstable();
    (blocks, parts)
}

#[test]
fn each_block_is_visited_once_by_any_number_of_threads() {
    for threads in [0, 1, 2, 7] {
        let executor = shared(threads, ALWAYS);
        for len in [0, 1, 3, 4, 50] {
            let (blocks, _) = visited(&executor, len);
            assert_eq!(blocks, (0..len).collect::<Vec<_>>(), "{threads} threads");
        }
    }
}

#[test]
fn what_is_fast_is_not_split() {
    let rest_min = Duration::from_secs(3600);
    let executor = shared(2, SplitLimits { rest_min, ..ALWAYS });
    assert_eq!(visited(&executor, 50).1, 2);
    assert_eq!(visited(&shared(2, ALWAYS), 50).1, 17);
}

#[test]
fn one_query_at_a_time_has_the_executor() {
    let executor = shared(2, ALWAYS);
    let turn = executor.take_turn();
    assert!(turn.is_some());
    assert_eq!(visited(&executor, 50).1, 2);
    drop(turn);
    assert_eq!(visited(&executor, 50).1, 17);
}

#[test]
fn errors_of_any_part_are_returned_and_the_executor_is_given_back() {
    let executor = shared(2, ALWAYS);
    for bad in [0, 3, 49] {
        let step = |_: &mut (), part: Range<u32>| {
            if part.contains(&bad) {
                return Err(Error::corrupt("a block is damaged"));
            }
            Ok(())
        };
        assert!(fold(Some(&executor), 50, || (), step, |(), ()| ()).is_err());
        assert!(executor.take_turn().is_some());
    }
}

#[test]
fn queries_go_alone_after_one_that_nobody_helped() {
    let limits = SplitLimits {
        alone_after_late: 2,
        ..ALWAYS
    };
    let executor = shared(1, limits);
    let parts = [(); 5].map(|()| visited(&executor, 50).1);
    assert_eq!(parts, [17, 2, 2, 17, 2]);
}
