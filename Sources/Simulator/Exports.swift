// What this target signs is encoded there. Whoever uses the simulator uses its receipts and JSON.
@_exported public import AppStoreReceiptsTesting
