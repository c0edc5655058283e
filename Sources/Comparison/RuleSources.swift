/// URLs of Apple's documentation that rules are based on.
enum RuleSources {
    static let answer = "https://developer.apple.com/documentation/appstorereceipts/responsebody"
    static let request = "https://developer.apple.com/documentation/appstorereceipts/requestbody"
    static let answerStatus = "https://developer.apple.com/documentation/appstorereceipts/status"
    static let latest = "https://developer.apple.com/documentation/appstorereceipts/responsebody/latest_receipt_info"
    static let history = "https://developer.apple.com/documentation/appstoreserverapi/get-transaction-history"
    static let historyResponse = "https://developer.apple.com/documentation/appstoreserverapi/historyresponse"
    static let transaction = "https://developer.apple.com/documentation/appstoreserverapi/jwstransactiondecodedpayload"
    static let renewal = "https://developer.apple.com/documentation/appstoreserverapi/jwsrenewalinfodecodedpayload"
    static let ownership = "https://developer.apple.com/documentation/appstoreserverapi/inappownershiptype"
    static let token = "https://developer.apple.com/documentation/appstoreserverapi/appaccounttoken"
    static let discount = "https://developer.apple.com/documentation/appstoreserverapi/offerdiscounttype"
    static let priceIncrease = "https://developer.apple.com/documentation/appstoreserverapi/priceincreasestatus"
    static let status = "https://developer.apple.com/documentation/appstoreserverapi/status"
}
