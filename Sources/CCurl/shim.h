#include <curl/curl.h>
#ifdef __linux__
#include <sys/epoll.h>  // Glibc's module does not have it.
#endif

// curl_easy_setopt, curl_easy_getinfo and curl_multi_setopt are variadic, which Swift does not import: one typed
// wrapper for each kind of argument, and nothing else.

/// Sets an option that takes a number, as CURLOPT_NOSIGNAL does.
static inline CURLcode bridge_curl_set_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

/// Sets an option that takes a size, as CURLOPT_POSTFIELDSIZE_LARGE does.
static inline CURLcode bridge_curl_set_size(CURL *handle, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(handle, option, value);
}

/// Sets an option whose text libcurl copies, as CURLOPT_URL does.
static inline CURLcode bridge_curl_set_text(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}

/// Sets the request body; libcurl keeps the pointer, so the bytes have to outlive the transfer. NULL is a body without bytes:
/// libcurl itself would read the body from a callback.
static inline CURLcode bridge_curl_set_body(CURL *handle, const void *bytes) {
    return curl_easy_setopt(handle, CURLOPT_POSTFIELDS, bytes ? bytes : "");
}

/// Sets the request headers; libcurl keeps the pointer, so the list has to outlive the transfer.
static inline CURLcode bridge_curl_set_headers(CURL *handle, struct curl_slist *list) {
    return curl_easy_setopt(handle, CURLOPT_HTTPHEADER, list);
}

/// Sets the context of a callback, or another option that keeps a pointer of ours.
static inline CURLcode bridge_curl_set_pointer(CURL *handle, CURLoption option, void *pointer) {
    return curl_easy_setopt(handle, option, pointer);
}

/// Sets the callback that takes body bytes or header lines.
static inline CURLcode bridge_curl_set_write_callback(CURL *handle, CURLoption option, curl_write_callback callback) {
    return curl_easy_setopt(handle, option, callback);
}

/// Sets the callback that sees each new socket before it connects.
static inline CURLcode bridge_curl_set_socket_callback(CURL *handle, curl_sockopt_callback callback) {
    return curl_easy_setopt(handle, CURLOPT_SOCKOPTFUNCTION, callback);
}

/// Reads a number about a finished transfer, as CURLINFO_RESPONSE_CODE.
static inline CURLcode bridge_curl_get_long(CURL *handle, CURLINFO info, long *value) {
    return curl_easy_getinfo(handle, info, value);
}

/// Reads a size about a transfer, as CURLINFO_SIZE_UPLOAD_T.
static inline CURLcode bridge_curl_get_size(CURL *handle, CURLINFO info, curl_off_t *value) {
    return curl_easy_getinfo(handle, info, value);
}

/// Sets an option of the multi handle that takes a number.
static inline CURLMcode bridge_curl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

/// The result of a finished transfer, which stands in a union of the message.
static inline CURLcode bridge_curl_message_result(const CURLMsg *message) {
    return message->data.result;
}

/// Sets the callback that runs when a connection is ready, before the request is sent on it.
static inline CURLcode bridge_curl_set_ready_callback(CURL *handle, curl_prereq_callback callback) {
    return curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, callback);
}

/// Shares the TLS sessions of the handle with those that use the same share.
static inline CURLcode bridge_curl_set_share(CURL *handle, CURLSH *share) {
    return curl_easy_setopt(handle, CURLOPT_SHARE, share);
}

/// Makes a share hold TLS sessions. Without lock callbacks it may be used by one thread only.
static inline CURLSHcode bridge_curl_share_sessions(CURLSH *share) {
    return curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
}

/// Sets the callback that learns which sockets libcurl waits for, and its context.
static inline CURLMcode bridge_curl_multi_set_socket_callback(CURLM *multi, curl_socket_callback callback, void *context) {
    CURLMcode result = curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
    return result == CURLM_OK ? curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, callback) : result;
}

/// Sets the callback that learns when libcurl's next timer expires, and its context.
static inline CURLMcode bridge_curl_multi_set_timer_callback(CURLM *multi, curl_multi_timer_callback callback, void *context) {
    CURLMcode result = curl_multi_setopt(multi, CURLMOPT_TIMERDATA, context);
    return result == CURLM_OK ? curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, callback) : result;
}
