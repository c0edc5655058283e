import Base
import PostgreSQLClient
import Storage

extension PostgreSQLStore: ExtensionLog {
    /// The table of renewal date extensions.
    static let extensionsStep = SchemaStep(
        "extensions",
        [
            """
            CREATE TABLE renewalExtension (
                app bigint NOT NULL REFERENCES app (id), originalTransactionId text NOT NULL,
                requestIdentifier text NOT NULL, days bigint NOT NULL, reason bigint NOT NULL,
                extendedAt bigint NOT NULL, effectiveDate bigint,
                PRIMARY KEY (originalTransactionId, app, requestIdentifier))
            """
        ])
}
