/// Makes the bodies of notifications when they are sent.
struct NotificationBodies: Sendable {
    let log: NotificationLog
    let payloads: NotificationPayload
    let version1: NotificationV1Body

    /// Returns `{"signedPayload": …}`, or the body of version 1. Returns `nil` if version 1 has no such notification.
    func body(of queued: QueuedNotification) -> [UInt8]? {
        guard let notification = log[queued.logIndex]?.notification else { return nil }
        if let type = queued.type {
            return (try? version1.document(notification, as: type))??.bytes
        }
        guard let signed = try? payloads.signed(notification) else { return nil }
        return JSONValue.object(["signedPayload": .string(signed)]).bytes
    }
}
