declare module 'mailauth/lib/tools.js' {
  /** Returns the first domain that aligns with a domain by the rules of DMARC; relaxed unless `strict`. */
  export function getAlignment<T extends { domain: string }>(from: string, domains: T[], strict: boolean): T | false;
}
