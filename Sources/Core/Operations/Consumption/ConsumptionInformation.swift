package import ReceiptBridgeAppStore
import ReceiptBridgeBase

/// The input of one submission of consumption information: the options of the command, or the body of
/// `POST /v1/consumption/{transactionId}`.
package struct ConsumptionInformation: Sendable, Hashable {
    /// The values, in the version of Apple's endpoint that they are for.
    package enum Form: Sendable, Hashable {
        case current(ConsumptionInput)
        case version1(ConsumptionRequestV1)
    }

    /// The customer consented to sharing this information with Apple.
    package var customerConsented: Bool
    package var form: Form
    /// Sends also after Apple's deadline.
    package var isLate: Bool
    /// Returns the request instead of sending it.
    package var isDryRun: Bool
    private(set) var naming = InputNaming.option

    package init(customerConsented: Bool, form: Form, isLate: Bool, isDryRun: Bool) {
        self.customerConsented = customerConsented
        self.form = form
        self.isLate = isLate
        self.isDryRun = isDryRun
    }

    /// Checks the rules that do not depend on the product, so that a wrong value is reported without a call to Apple.
    func checkInput() throws(InvalidOperation) {
        guard customerConsented else {
            throw InvalidOperation(
                "without the customer's consent Apple does not allow this call; nothing was sent",
                hint: "\(naming.name("customerConsented")) confirms that the customer agreed", kind: .consent)
        }
        switch form {
        case .current(let input): _ = try input.request(for: nil, naming: naming)
        case .version1(let request): _ = try request.checked(for: nil, naming: naming)
        }
    }
}

/// The JSON body:
///
///     { "customerConsented": true, "deliveryStatus": "DELIVERED", "sampleContentProvided": false,
///       "consumptionPercentage": 40000, "refundPreference": "DECLINE", "late": false, "dryRun": false }
///
/// With `"v1": true` the statuses are numbers, and the other fields of version 1 are allowed.
extension ConsumptionInformation {
    private static let numbers: [(ConsumptionRequestV1.Field, StaticString)] = [
        (.accountTenure, "accountTenure"), (.consumptionStatus, "consumptionStatus"),
        (.deliveryStatus, "deliveryStatus"), (.lifetimeDollarsPurchased, "lifetimeDollarsPurchased"),
        (.lifetimeDollarsRefunded, "lifetimeDollarsRefunded"), (.platform, "platform"), (.playTime, "playTime"),
        (.refundPreference, "refundPreference"), (.userStatus, "userStatus"),
    ]

    /// Parses a body. Unknown members are ignored.
    ///
    /// - Throws: `malformedRequest`.
    package init(body: [UInt8]) throws(OperationError) {
        do {
            let object = try JSONObject(body)
            let form: Form = try object.flag("v1") ?? false ? try Self.version1(object) : try Self.current(object)
            self.init(
                customerConsented: try object.flag("customerConsented") ?? false, form: form,
                isLate: try object.flag("late") ?? false, isDryRun: try object.flag("dryRun") ?? false)
            naming = .member
        } catch let error as JSONFieldError {
            throw OperationError(.malformedRequest, "\(error)")
        } catch {
            throw OperationError(.malformedRequest, "the body is not a JSON object")
        }
    }

    private static func current(_ object: JSONObject) throws(JSONFieldError) -> Form {
        .current(
            ConsumptionInput(
                sampleContentProvided: try object.flag("sampleContentProvided") ?? false,
                deliveryStatus: try object.text("deliveryStatus"),
                percentage: try object.integer("consumptionPercentage"),
                refundPreference: try object.text("refundPreference")))
    }

    private static func version1(_ object: JSONObject) throws(JSONFieldError) -> Form {
        var numbers: [ConsumptionRequestV1.Field: Int64] = [:]
        for (field, name) in Self.numbers { numbers[field] = try object.integer(name) }
        let isSampled = try object.flag("sampleContentProvided") ?? false
        return .version1(
            ConsumptionRequestV1(
                appAccountToken: try object.text("appAccountToken") ?? "", sampleContentProvided: isSampled,
                numbers: numbers))
    }
}
