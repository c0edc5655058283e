import ReceiptBridgeBase

/// What becomes of a row whose ids nothing proves: it is refused, or looked up by its ids.
package struct UnverifiedRule: Sendable {
    private let isAllowed: Bool
    /// The app of rows that name none; `nil` if they must name one.
    private let app: String?
    /// Returns whether there is a key for an app; `nil` if nothing is looked up.
    private let handles: (@Sendable (String) -> Bool)?

    package init(isAllowed: Bool = false, app: String? = nil, handles: (@Sendable (String) -> Bool)? = nil) {
        (self.isAllowed, self.app, self.handles) = (isAllowed, app, handles)
    }

    /// Returns whether a receipt of this app is looked up although it is not authentic.
    func allows(_ bundleId: String) -> Bool { isAllowed && handles?(bundleId) ?? false }

    /// Returns the app in which ids without a receipt are looked up, or why they are not.
    package func app(of identifiers: UnsignedIdentifiers) -> Result<String, IdentifierRefusal> {
        guard !identifiers.isEmpty else { return .failure(.roundedId) }
        guard !identifiers.environments.contains(.xcode) else { return .failure(.xcodeReceipt) }
        guard isAllowed else { return .failure(.needsAllowUnverified) }
        guard let handles else { return .failure(.needsWithAPI) }
        let named = identifiers.bundleIds
        guard let app = app ?? named.first else { return .failure(.bundleIdRequired) }
        guard named.isSubset(of: [app]), handles(app) else { return .failure(.anotherApp) }
        return .success(app)
    }
}

/// The reason why a row of ids is not looked up. The raw value is the code in the column `reason`.
package enum IdentifierRefusal: String, Error, CaseIterable {
    case needsAllowUnverified
    case needsWithAPI
    case bundleIdRequired
    case anotherApp
    case roundedId
    case xcodeReceipt

    var failure: StoredFailure { StoredFailure(code: rawValue, reason: reason) }

    package var reason: String {
        switch self {
        case .needsAllowUnverified:
            "transaction ids without a receipt: nothing proves them; --with-api --allow-unverified looks them up"
        case .needsWithAPI:
            "transaction ids without a receipt: only a lookup shows whose they are, which needs --with-api"
        case .bundleIdRequired: "several apps have a key, and the row names none: --bundle-id names it"
        case .anotherApp: "the ids are those of an app without a key, or of another one than --bundle-id"
        case .roundedId:
            "a transaction id was stored as a floating-point number, as spreadsheets do: its last digits may be lost"
        case .xcodeReceipt: "the ids are those of StoreKit Testing in Xcode"
        }
    }
}
