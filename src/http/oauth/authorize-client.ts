import { readAuthorization } from '../../resources/oauth/index.ts';
import type { Page } from '../page.ts';
import { refusedPage } from './refused-page.ts';

const CONSENT_PATH = '/oauth/consent';
const ASKED = [
  ...['response_type', 'client_id', 'redirect_uri', 'code_challenge', 'code_challenge_method'],
  ...['state', 'scope', 'resource'],
];

/** Leads to the page of consent, which reads the same once more, or back to the app with what is wrong. */
export const authorizeClient: Page<'authorizeClient'> = async ({ store }, { query }, { reply }) => {
  const asked = query as Readonly<Record<string, unknown>>;
  const read = await readAuthorization(store, asked);
  if (read.kind === 'unknown') return refusedPage(reply, read.say);
  if (read.kind === 'refused') return reply.code(302).header('location', read.to).send('');
  const passed = new URLSearchParams();
  for (const name of ASKED) if (typeof asked[name] === 'string') passed.set(name, asked[name]);
  return reply.code(302).header('location', `${CONSENT_PATH}?${passed}`).send('');
};
