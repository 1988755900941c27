//! The priority of threads that compute statements: behind everything else that the machine has to do.

/// Lets the current thread run only where no other wants to, and makes way for one that wakes up at once. A thread that is
/// merely nice keeps its core for the rest of its slice, some milliseconds, in which a search waits.
#[cfg(target_os = "linux")]
pub(super) fn lower() {
    use thread_priority::unix::{
        NormalThreadSchedulePolicy, ThreadSchedulePolicy, set_thread_priority_and_policy,
        thread_native_id,
    };
    let idle = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
    let lowest = thread_priority::ThreadPriority::Min;
    if let Err(error) = set_thread_priority_and_policy(thread_native_id(), lowest, idle) {
        tracing::warn!(%error, "SQL statements run at the priority of searches");
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn lower() {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use thread_priority::unix::{
        NormalThreadSchedulePolicy, ThreadSchedulePolicy, thread_schedule_policy,
    };

    use super::*;

    #[test]
    fn a_thread_with_low_priority_makes_way_for_others() {
        let policy = std::thread::spawn(|| {
            lower();
            thread_schedule_policy()
        });
        let idle = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
        assert_eq!(policy.join().expect("no panic").expect("a policy"), idle);
    }
}
