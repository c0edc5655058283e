package import Operations

/// App Store storefronts by their three-letter country codes (ISO 3166-1 alpha-3). An empty list means all
/// storefronts.
package struct Storefronts: Sendable, Hashable {
    package let codes: [String]

    /// - Parameter text: A comma-separated list, for example `USA,DEU`; `nil` for all storefronts.
    package init(_ text: String?) throws(InvalidOperation) {
        guard let text else {
            codes = []
            return
        }
        let codes = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        for code in codes where code.utf8.count != 3 || !code.utf8.allSatisfy({ (0x41...0x5A).contains($0) }) {
            throw InvalidOperation(
                "--storefronts: \(code.isEmpty ? "an empty name" : code) is not a country code of three capital letters",
                hint: "for example USA,DEU; without --storefronts all countries are included")
        }
        self.codes = codes
    }
}
