package import ReceiptBridgeAppStore
package import ReceiptBridgeReceipts
import ReceiptBridgeBase

/// How errors name a value: as the option of a command, or as the member of a JSON body.
package enum InputNaming: Sendable, Hashable {
    /// For example `--delivery-status`.
    case option
    /// For example `deliveryStatus`.
    case member

    /// - Parameter member: the name in JSON, in camelCase.
    func name(_ member: String) -> String {
        guard self == .option else { return member }
        return "--" + member.map { $0.isUppercase ? "-\($0.lowercased())" : String($0) }.joined()
    }
}

/// Consumption information as typed by a user, before it is checked against Apple's rules.
///
/// Rules: https://developer.apple.com/documentation/appstoreserverapi/consumptionrequest
package struct ConsumptionInput: Sendable, Hashable {
    package var sampleContentProvided: Bool
    /// `DELIVERED`, for example.
    package var deliveryStatus: String?
    /// Consumed share in thousandths of a percent. For example, 40,000 is 40 %.
    package var percentage: Int64?
    package var refundPreference: String?

    package init(
        sampleContentProvided: Bool, deliveryStatus: String?, percentage: Int64?, refundPreference: String?
    ) {
        self.sampleContentProvided = sampleContentProvided
        self.deliveryStatus = deliveryStatus
        self.percentage = percentage
        self.refundPreference = refundPreference
    }

    /// Returns whether the rules for this input depend on the type of product.
    var dependsOnProduct: Bool {
        percentage != nil || refundPreference == ConsumptionRequest.RefundPreference.grantProrated.rawValue
    }

    /// Rules that depend on an unknown type are skipped.
    ///
    /// - Throws: ``InvalidOperation`` naming the option that is wrong.
    package func request(
        for type: ProductType?, naming: InputNaming = .option
    ) throws(InvalidOperation) -> ConsumptionRequest {
        let share = naming.name("consumptionPercentage")
        guard let word = deliveryStatus else {
            throw InvalidOperation("\(naming.name("deliveryStatus")) is needed")
        }
        let delivery: ConsumptionRequest.DeliveryStatus = try Self.value(word, naming.name("deliveryStatus"))
        var preference: ConsumptionRequest.RefundPreference?
        if let refundPreference { preference = try Self.value(refundPreference, naming.name("refundPreference")) }
        if let percentage {
            guard (0...100_000).contains(percentage) else {
                throw InvalidOperation(
                    "\(share): 0 to 100000, not \(percentage)",
                    hint: "thousandths of a percent: 40000 is 40 %")
            }
            guard delivery == .delivered || percentage == 0 else {
                throw InvalidOperation("\(share): must be 0 if the purchase was not delivered")
            }
        }
        if type == .autoRenewable {
            guard percentage == nil else {
                throw InvalidOperation(
                    "\(share): not allowed for a subscription, whose used time Apple knows")
            }
        } else if type != nil, preference == .grantProrated {
            guard let percentage, (1..<100_000).contains(percentage) else {
                throw InvalidOperation(
                    "GRANT_PRORATED for a one-time purchase needs \(share) between 0 and 100000",
                    hint: "thousandths of a percent: 40000 is 40 %")
            }
        }
        return ConsumptionRequest(
            sampleContentProvided: sampleContentProvided, deliveryStatus: delivery, consumptionPercentage: percentage,
            refundPreference: preference)
    }

    /// - Parameter name: The option, which the error names.
    private static func value<Value: RawRepresentable<String> & CaseIterable>(
        _ word: String, _ name: String
    ) throws(InvalidOperation) -> Value {
        if let value = Value(rawValue: word) { return value }
        throw InvalidOperation(
            "\(name): \(word) is not one of \(Value.allCases.map(\.rawValue).joined(separator: ", "))")
    }
}

extension ConsumptionRequestV1 {
    /// Checks a request as typed by a user, and returns the one to send.
    ///
    /// - Throws: ``InvalidOperation`` naming the option that is wrong.
    package func checked(
        for type: ProductType?, naming: InputNaming = .option
    ) throws(InvalidOperation) -> ConsumptionRequestV1 {
        let token = AccountToken(appAccountToken)?.text
        guard appAccountToken.isEmpty || token != nil else {
            throw InvalidOperation("\(naming.name("appAccountToken")): must be a UUID or empty")
        }
        guard numbers[.deliveryStatus] != nil else {
            throw InvalidOperation("\(naming.name("deliveryStatus")) is needed")
        }
        for (field, number) in numbers.sorted(by: { $0.key.rawValue < $1.key.rawValue })
        where !field.values.contains(number) {
            throw InvalidOperation(
                "\(naming.name(field.rawValue)): \(field.values.lowerBound) to \(field.values.upperBound), not \(number)"
            )
        }
        if let type, type != .consumable, type != .autoRenewable {
            throw InvalidOperation(
                "version 1 accepts only consumables and auto-renewable subscriptions, not \(type.rawValue)",
                hint: "omit \(naming.name("v1"))")
        }
        var request = self
        request.appAccountToken = token ?? ""
        return request
    }
}

extension ConsumptionRequestV1.Field {
    /// The command-line option of this field. For example, `--consumption-status` for `consumptionStatus`.
    package var option: String {
        InputNaming.option.name(rawValue)
    }
}
