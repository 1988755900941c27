//! Signals with long texts.

use signaldex::{Company, Index, IndexBuilder, Signal, SignalId};

/// Adds signals whose evidence has these lengths, with the ids from 1 on.
pub(crate) fn add_signals(builder: &mut IndexBuilder, lengths: &[usize]) {
    let company = Company::new("acme", "Acme");
    builder.add_company(&company).expect("a company");
    for (number, &length) in (1..).zip(lengths) {
        let id = SignalId::new(number).expect("an id");
        let mut signal = Signal::new(id, "acme", "Acme hires");
        signal.evidence = Some("e".repeat(length).into());
        builder.add_signal(&signal).expect("a signal");
    }
}

pub(crate) fn index_of(lengths: &[usize]) -> Index {
    let mut builder = IndexBuilder::in_memory();
    add_signals(&mut builder, lengths);
    builder.finish().expect("an index")
}
