import type { Scene } from './scene.ts';

/** Returns the mails to an address, oldest first, with quoted-printable decoded. */
export const mailsTo = (scene: Scene, email: string): string[] =>
  scene.sink.messages
    .filter(({ rcptTo }) => rcptTo.includes(email))
    .map(({ data }) => data.toString('utf8').replaceAll(/=\r\n/g, '').replaceAll('=3D', '='));

export const subjectsTo = (scene: Scene, email: string): (string | undefined)[] =>
  mailsTo(scene, email).map((mail) => /^Subject: (.*)\r$/m.exec(mail)?.[1]);

/** Returns the token in the link of the newest mail that has one: a notice without one may arrive at the same moment. */
export function tokenTo(scene: Scene, email: string): string {
  const tokens = mailsTo(scene, email).map((mail) => /\?token=(\w+_[\w-]+)/.exec(mail)?.[1]);
  const token = tokens.findLast((one) => one !== undefined);
  if (token === undefined) throw new Error(`no mail with a token arrived at ${email}`);
  return token;
}
