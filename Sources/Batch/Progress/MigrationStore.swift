package import Storage

/// The progress file of a migration: the checkpoint, the refused rows and, with the Server API, the rows and customers
/// in progress.
package typealias MigrationStore = ProgressFile
