//! Durable stores for [backfill](fantail::backfill): what a partial result lacks is kept until it is filled in.
//!
//! [`SqliteStore`] is one SQLite file.

mod error;
mod lock;
mod schema;
mod store;
mod worker;

pub use error::OpenError;
pub use store::SqliteStore;
