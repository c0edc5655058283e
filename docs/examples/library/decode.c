/* Prints the JSON of the receipt on standard input. A folder with receipt_bridge.h and libreceipt_bridge.so is in LIB:
 *
 *     cc -I "$LIB" decode.c -L "$LIB" -Wl,-rpath,"$LIB" -l receipt_bridge -o decode
 *     ./decode <receipt.b64
 */
#include <receipt_bridge.h>
#include <stdio.h>

int main(void) {
    static char receipt[8 << 20];
    size_t length = fread(receipt, 1, sizeof receipt, stdin);
    char *json = receipt_bridge_decode(receipt, length, NULL);
    if (json == NULL) return 2;
    puts(json);
    receipt_bridge_free(json);
    return 0;
}
