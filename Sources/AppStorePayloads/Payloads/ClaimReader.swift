package import Base

/// Reads the members of a JSON object of the App Store, of which only some decide.
///
/// A member that does not decide is left out if its type is not the documented one: Apple may change it, and one such
/// member must not make a genuine purchase unusable. Members that decide are read from ``object``, whose readers throw.
package struct ClaimReader {
    /// For the members that decide: identifiers, the environment, dates of access, revocation.
    package let object: JSONObject
    /// The members that were left out. Their names come from the code, never from the document.
    package private(set) var leftOut: [JSONFieldError] = []

    /// The names of all members of signed payloads that do not decide, for metrics.
    package static let names = [
        "advancedCommerceInfo", "appAccountToken", "appTransactionId", "applicationVersion", "autoRenewProductId",
        "autoRenewStatus", "billingPeriodNumber", "billingPlanType", "bundleVersion",
        "commitmentAutoRenewProductId", "commitmentAutoRenewStatus", "commitmentExpiresDate", "commitmentInfo",
        "commitmentPrice", "commitmentRenewalBillingPlanType", "commitmentRenewalDate", "commitmentRenewalPrice",
        "consumptionRequestReason", "currency", "deviceVerification", "deviceVerificationNonce",
        "eligibleWinBackOfferIds", "expirationIntent", "failedCount", "inAppOwnershipType",
        "isInBillingRetryPeriod", "isUpgraded", "offerDiscountType", "offerIdentifier", "offerPeriod", "offerType",
        "originalApplicationVersion", "originalPlatform", "originalPurchaseDate", "preorderDate",
        "previousOriginalTransactionId", "price", "priceIncreaseStatus", "productId", "quantity",
        "recentSubscriptionStartDate", "renewalBillingPlanType", "renewalDate", "renewalPrice", "requestIdentifier",
        "revocationPercentage", "revocationReason", "revocationType", "status", "storefront",
        "storefrontCountryCodes", "storefrontId", "subscriptionGroupIdentifier", "subtype", "succeededCount",
        "tokenCreationDate", "tokenExpirationDate", "tokenType", "totalBillingPeriods", "transactionReason", "type",
        "version", "versionExternalIdentifier", "webOrderLineItemId",
    ]

    package init(_ object: JSONObject) {
        self.object = object
    }

    /// A string; `nil` if it is absent or left out.
    package mutating func text(_ name: StaticString) -> String? {
        do throws(JSONFieldError) { return try object.text(name) } catch { return leaveOut(error) }
    }

    /// An array of strings; `nil` if it is absent or left out.
    package mutating func texts(_ name: StaticString) -> [String]? {
        do throws(JSONFieldError) { return try object.texts(name) } catch { return leaveOut(error) }
    }

    /// A whole number of 64 bits; `nil` if it is absent or left out.
    package mutating func integer(_ name: StaticString) -> Int64? {
        do throws(JSONFieldError) { return try object.integer(name) } catch { return leaveOut(error) }
    }

    /// A boolean; `nil` if it is absent or left out.
    package mutating func flag(_ name: StaticString) -> Bool? {
        do throws(JSONFieldError) { return try object.flag(name) } catch { return leaveOut(error) }
    }

    /// A date; `nil` if it is absent or left out.
    package mutating func date(_ name: StaticString) -> Timestamp? {
        do throws(JSONFieldError) { return try object.date(name) } catch { return leaveOut(error) }
    }

    /// The bytes of an object; `nil` if it is absent or left out. The document's limit of size applies to it.
    mutating func rawObject(_ name: StaticString) -> [UInt8]? {
        do throws(JSONFieldError) {
            return try object.object(name) == nil ? nil : object.rawJSON(name)
        } catch {
            return leaveOut(error)
        }
    }

    /// A value that is read from a nested object; `nil` if it is absent or left out.
    mutating func nested<Value>(_ name: StaticString, _ read: (inout ClaimReader) -> Value) -> Value? {
        do throws(JSONFieldError) { return try required(name, read) } catch { return leaveOut(error) }
    }

    /// A value that is read from a nested object; `nil` if it is absent.
    ///
    /// - Throws: ``JSONFieldError`` if the member is not an object.
    mutating func required<Value>(
        _ name: StaticString, _ read: (inout ClaimReader) throws(JSONFieldError) -> Value
    ) throws(JSONFieldError) -> Value? {
        guard let object = try object.object(name) else { return nil }
        var reader = ClaimReader(object)
        let value = try read(&reader)
        leftOut += reader.leftOut
        return value
    }

    /// Returns the elements of an array of objects, read one by one; empty if it is absent.
    ///
    /// - Throws: ``JSONFieldError`` if the member is not an array of objects.
    package mutating func elements<Value>(
        _ name: StaticString, _ read: (inout ClaimReader) throws(JSONFieldError) -> Value
    ) throws(JSONFieldError) -> [Value] {
        var values: [Value] = []
        for object in try object.objects(name) ?? [] {
            var reader = ClaimReader(object)
            values.append(try read(&reader))
            leftOut += reader.leftOut
        }
        return values
    }

    /// Returns the elements of an array of objects, read one by one; empty if it is absent or left out.
    package mutating func optionalElements<Value>(
        _ name: StaticString, _ read: (inout ClaimReader) -> Value
    ) -> [Value] {
        do throws(JSONFieldError) { return try elements(name, read) } catch { return leaveOut(error) ?? [] }
    }

    private mutating func leaveOut<Value>(_ error: JSONFieldError) -> Value? {
        leftOut.append(error)
        return nil
    }
}

extension JSONObject {
    /// A date in milliseconds since 1970. Fractions, which Xcode writes, are truncated.
    package func date(_ name: StaticString) throws(JSONFieldError) -> Timestamp? {
        try milliseconds(name).map(Timestamp.init(milliseconds:))
    }

    /// A whole number of 64 bits, which may be written as text: `"1"`.
    package func number(_ name: StaticString) throws(JSONFieldError) -> Int64? {
        do throws(JSONFieldError) {
            return try integer(name)
        } catch {
            guard let number = (try? text(name)).flatMap({ Int64($0) }) else { throw error }
            return number
        }
    }

    /// A boolean, which may be written as text or as a number: `"true"`, `1`.
    package func truth(_ name: StaticString) throws(JSONFieldError) -> Bool? {
        do throws(JSONFieldError) {
            return try flag(name)
        } catch {
            switch (try? text(name))?.lowercased() ?? (try? integer(name)).map({ String($0) }) {
            case "true", "1": return true
            case "false", "0": return false
            default: throw error
            }
        }
    }

    /// A text, which may be written as a whole number: `700000000000101`.
    package func identifier(_ name: StaticString) throws(JSONFieldError) -> String? {
        do throws(JSONFieldError) {
            return try text(name)
        } catch {
            guard let number = try? integer(name) else { throw error }
            return String(number)
        }
    }
}
