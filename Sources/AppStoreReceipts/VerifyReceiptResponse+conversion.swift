public import Foundation
import ReceiptBridgeResponses

extension VerifyReceiptResponse {
    /// Converts the JSON of a verifyReceipt response to the names and types of the App Store Server API.
    ///
    /// - Throws: ``ConversionError``, never with a value of the document.
    public static func camelCase(_ response: Data) throws(ConversionError) -> Data {
        do throws(ReceiptBridgeResponses.ConversionError) {
            return Data(try converter.camelCase(Array(response)))
        } catch {
            throw ConversionError(error)
        }
    }

    /// Converts JSON in the names and types of the App Store Server API to a verifyReceipt response: a document of
    /// ``camelCase(_:)``, or an object with `environment`, `bundleId`, and decoded `transactions` and `renewals`.
    ///
    /// - Throws: ``ConversionError``, never with a value of the document.
    public static func snakeCase(_ document: Data) throws(ConversionError) -> Data {
        do throws(ReceiptBridgeResponses.ConversionError) {
            return Data(try converter.snakeCase(Array(document)))
        } catch {
            throw ConversionError(error)
        }
    }

    private static var converter: DocumentConverter { DocumentConverter(tables: .bundled) }
}

/// The reason why a document cannot be converted.
public struct ConversionError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure. The raw value is stable.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The name of the code.
        public let rawValue: String
        /// Accepts a code that has no constant here, too.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The name of the code.
        public var description: String { rawValue }

        /// The document exceeds the maximum size or number of values.
        public static let tooLarge = Self(rawValue: "tooLarge")
        /// The document is not JSON, is nested too deeply, or is not an object.
        public static let malformed = Self(rawValue: "malformed")
        /// The document is neither a verifyReceipt response nor one in the names of the App Store Server API.
        public static let notADocument = Self(rawValue: "notADocument")
        /// The document already has the requested names.
        public static let wrongDirection = Self(rawValue: "wrongDirection")
        /// A value has the wrong type, or does not fit into the type.
        public static let badValue = Self(rawValue: "badValue")
        /// The environment is `Xcode` or `LocalTesting`, for which verifyReceipt never existed.
        public static let noSuchEnvironment = Self(rawValue: "noSuchEnvironment")
    }

    /// The kind of failure.
    public let code: Code
    /// The path of the value, for example `receipt.in_app[2].purchase_date`; empty for the whole document.
    public let place: String
    /// A sentence for people.
    public let reason: String

    /// The place and the sentence on one line.
    public var description: String { place.isEmpty ? reason : "\(place): \(reason)" }

    init(_ error: ReceiptBridgeResponses.ConversionError) {
        code = Code(rawValue: error.code.rawValue)
        place = error.place
        reason = error.reason
    }
}
