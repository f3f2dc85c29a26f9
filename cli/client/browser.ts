/** As much of a browser as it takes to sign in with a password: which site its page is of, and the cookies of that site. */
export interface Browser {
  origin: string;
  cookies: Map<string, string>;
}

/** What a browser says beside a call. */
export function ofBrowser({ origin, cookies }: Browser): Record<string, string> {
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  return { origin, ...(cookie === '' ? {} : { cookie }) };
}

/** Keeps what an answer set, and forgets what it took back. */
export function keepCookies({ cookies }: Browser, lines: readonly string[]): void {
  for (const line of lines) {
    const [, name = '', value = '', attributes = ''] = /^([^=;]+)=([^;]*)(.*)$/.exec(line) ?? [];
    if (name === '') continue;
    if (/;\s*max-age=0\b/i.test(attributes)) cookies.delete(name);
    else cookies.set(name, value);
  }
}
