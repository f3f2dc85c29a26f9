import type { Session } from '../declare.ts';

export async function createShare(
  { client, terminal, isJson }: Session,
  id: string,
  options: { expiresIn?: string },
): Promise<void> {
  const { expiresIn } = options;
  const body = expiresIn === undefined ? {} : { expires_in: expiresIn };
  const share = await client.call('createShare', { path: { email_id: id }, body });
  if (isJson) return terminal.printJson(share);
  terminal.print(share.url);
  terminal.hint('Whoever has this link can read the email. It is not shown again.');
}
