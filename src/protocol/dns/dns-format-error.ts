/** Bytes that are no DNS message, or a value that does not fit into one. */
export class DnsFormatError extends Error {
  override readonly name = 'DnsFormatError';
}
