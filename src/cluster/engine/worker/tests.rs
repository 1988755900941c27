//! White-box tests of `cluster/engine/worker.rs`.

use super::*;

#[test]
fn a_worker_has_no_files_and_one_function() {
    let environment = environment().expect("an environment");
    let local = ObjectStoreUrl::local_filesystem();
    assert!(environment.object_store(&local).is_err());
    let spilled = environment.disk_manager.create_tmp_file("an answer");
    assert!(spilled.is_err(), "nothing is spilled to disk");
    let builder = SessionStateBuilder::new().with_default_features();
    let session = session(builder, LeafCodec::default());
    assert!(session.table_factories().is_empty());
    assert!(session.table_functions().is_empty());
    assert!(session.scalar_functions().is_empty());
    assert!(session.window_functions().is_empty());
    assert!(session.get_file_format_factory("csv").is_none());
    let functions: Vec<_> = session.aggregate_functions().keys().collect();
    assert_eq!(functions, ["sum"]);
}
