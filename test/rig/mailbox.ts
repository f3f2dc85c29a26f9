import type { Scene } from './scene.ts';

/** The mails that came to an address, oldest first, with quoted-printable undone. */
export const mailsTo = (scene: Scene, email: string): string[] =>
  scene.sink.messages
    .filter(({ rcptTo }) => rcptTo.includes(email))
    .map(({ data }) => data.toString('utf8').replaceAll(/=\r\n/g, '').replaceAll('=3D', '='));

export const subjectsTo = (scene: Scene, email: string): (string | undefined)[] =>
  mailsTo(scene, email).map((mail) => /^Subject: (.*)\r$/m.exec(mail)?.[1]);

/** The token in the link of the newest mail that has one: a notice of something else may come at the same moment. */
export function tokenTo(scene: Scene, email: string): string {
  const tokens = mailsTo(scene, email).map((mail) => /\?token=(\w+_[\w-]+)/.exec(mail)?.[1]);
  const token = tokens.findLast((one) => one !== undefined);
  if (token === undefined) throw new Error(`no token came to ${email}`);
  return token;
}
