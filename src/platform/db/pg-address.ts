/**
 * A URL of a database with the `sslmode` said that is in force: `pg` takes these three for verify-full, and has a later version of it be more
 * lenient. It would say so, at length, at every start.
 */
export function pgAddress(url: string): string {
  if (/[?&]uselibpqcompat=true(&|$)/.test(url)) return url;
  return url.replace(/([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/, '$1verify-full');
}
