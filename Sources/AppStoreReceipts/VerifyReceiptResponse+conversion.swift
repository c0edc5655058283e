public import Foundation
import Responses

extension VerifyReceiptResponse {
    /// Converts the JSON of a verifyReceipt response to the names and types of the App Store Server API.
    ///
    /// - Throws: ``ConversionError``, never with a value of the document.
    public static func camelCase(_ response: Data) throws(ConversionError) -> Data {
        do throws(Responses.ConversionError) {
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
        do throws(Responses.ConversionError) {
            return Data(try converter.snakeCase(Array(document)))
        } catch {
            throw ConversionError(error)
        }
    }

    private static var converter: DocumentConverter { DocumentConverter(tables: .bundled) }
}

/// The reason why a document cannot be converted.
public struct ConversionError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure.
    public enum Code: String, Sendable, CaseIterable {
        case tooLarge, malformed, notADocument, wrongDirection, badValue, noSuchEnvironment
    }

    /// The kind of failure.
    public let code: Code
    /// The path of the value, for example `receipt.in_app[2].purchase_date`; empty for the whole document.
    public let place: String
    /// A sentence for people.
    public let reason: String

    public var description: String { place.isEmpty ? reason : "\(place): \(reason)" }

    init(_ error: Responses.ConversionError) {
        code = Code(rawValue: error.code.rawValue) ?? .malformed
        place = error.place
        reason = error.reason
    }
}
