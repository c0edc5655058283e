/// Makes the bodies of notifications when they are sent.
struct NotificationBodies: Sendable {
    let log: NotificationLog
    let payloads: NotificationPayload
    let firstVersion: NotificationV1Body

    /// Returns `{"signedPayload": …}`, or the body of version 1. Returns `nil` if version 1 has no such notification.
    func body(of letter: QueuedNotification) -> [UInt8]? {
        guard let notification = log[letter.number]?.notification else { return nil }
        if let type = letter.type {
            return (try? firstVersion.document(notification, as: type))??.bytes
        }
        guard let signed = try? payloads.signed(notification) else { return nil }
        return JSONValue.object(["signedPayload": .string(signed)]).bytes
    }
}
