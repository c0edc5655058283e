import Base
import Foundation
import GRDB

/// The customer identifiers of receipts that contain no purchase, as Apple returned them once.
extension SQLiteStore {
    /// Creates the index for finding the receipts of one customer. Deletes the rows of earlier versions: they have
    /// digests of whole containers, which no lookup uses any more.
    static func addLearntByOriginals(_ db: Database) throws {
        try db.execute(
            sql: """
                DELETE FROM learntIdentifiers;
                CREATE INDEX learntByOriginals ON learntIdentifiers (originals, learntAt);
                """)
    }
}
