package import StoreTypes
import Telemetry

/// `status` as a label: Apple's own numbers one by one, what else Apple may say under two names.
package struct StatusLabel: MetricLabel {
    private static let names =
        ["0"] + (21_000...21_010).map { String($0) } + ["211xx", "other"]

    package let rawValue: Int

    package init(rawValue: Int) { self.rawValue = rawValue }

    package init(_ status: VerifyReceiptStatus) {
        switch status.rawValue {
        case 0: rawValue = 0
        case 21_000...21_010: rawValue = status.rawValue - 21_000 + 1
        case 21_100...21_199: rawValue = Self.names.count - 2
        default: rawValue = Self.names.count - 1
        }
    }

    package static var allCases: [Self] { names.indices.map { Self(rawValue: $0) } }

    package var text: String { Self.names[rawValue] }
}

/// An ``AnswerSource`` as a label.
package enum SourceLabel: Int, MetricLabel {
    case apple, api, stored, receipt

    package init(_ source: AnswerSource) {
        switch source {
        case .apple: self = .apple
        case .api: self = .api
        case .stored: self = .stored
        case .receipt: self = .receipt
        }
    }
}

/// An environment as a label, in Apple's spelling.
package enum EnvironmentLabel: Int, MetricLabel {
    case production, sandbox, xcode

    package init(_ environment: AppStoreEnvironment) {
        switch environment {
        case .production: self = .production
        case .sandbox: self = .sandbox
        case .xcode: self = .xcode
        }
    }

    package var text: String {
        switch self {
        case .production: AppStoreEnvironment.production.rawValue
        case .sandbox: AppStoreEnvironment.sandbox.rawValue
        case .xcode: AppStoreEnvironment.xcode.rawValue
        }
    }
}

/// Whether what was looked for was there.
package enum HitLabel: Int, MetricLabel {
    case hit, miss
}

/// What came of one attempt to forward a notification.
package enum DeliveryLabel: Int, MetricLabel {
    case delivered
    /// The target's form has no body for it.
    case nothing
    /// To be tried again.
    case failed
    /// Given up.
    case dead
}

/// What came of a comparison in the shadow.
package enum ComparisonLabel: Int, MetricLabel {
    case equal
    /// At least one difference.
    case different
    /// The second source had nothing to compare with.
    case failed
    /// Too many were waiting.
    case dropped
}

/// What a difference is.
package enum DifferenceLabel: Int, MetricLabel {
    case expected, unexpected
}
