import ReceiptBridgeAdministration
import Testing

@Suite("Table of checks")
struct CheckTableTests {
    @Test("A long name has a line of its own on a terminal, so that the other lines keep their width")
    func narrow() {
        let checks = [
            CheckResult("openssl", .pass, "verifies SHA-1 and RSA-1024, as old receipts need"),
            CheckResult("serverAPI com.example.app production", .pass, "the key is accepted"),
            CheckResult(
                "store", .warn, "none: responses are not archived", advice: "store: sqlite:receipt-bridge.sqlite"),
        ]
        #expect(
            checks.table(columns: 60) == """
                pass  openssl  verifies SHA-1 and RSA-1024, as old receipts
                               need
                pass  serverAPI com.example.app production
                               the key is accepted
                warn  store    none: responses are not archived
                               → store: sqlite:receipt-bridge.sqlite

                """)
        #expect(
            checks.table().split(separator: "\n").first
                == "pass  openssl                               verifies SHA-1 and RSA-1024, as old receipts need")
    }
}
