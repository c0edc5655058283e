/// Received notifications.
package protocol NotificationStore: SQLEngine {}
