import { createHmac } from 'node:crypto';
import type { SinkAuth } from './sink-options.ts';

export const SINK_MECHANISMS = ['PLAIN', 'LOGIN', 'CRAM-MD5', 'XOAUTH2'];

/** The server's half of a login: yields challenges, takes what the client says, and returns how it ended. */
export type SinkLogin = Generator<string, { mechanism: string; isRight: boolean }, string>;

const inBase64 = (text: string): string => Buffer.from(text).toString('base64');
const decoded = (text: string): string => Buffer.from(text, 'base64').toString();

export function* serveLogin(command: string, { user, secret }: SinkAuth): SinkLogin {
  const [, mechanism = '', initial] = command.split(' ');
  const answerTo = function* (challenge: string): Generator<string, string, string> {
    return decoded(yield inBase64(challenge));
  };
  switch (mechanism.toUpperCase()) {
    case 'PLAIN': {
      const said = initial === undefined ? yield* answerTo('') : decoded(initial);
      return { mechanism, isRight: said === `\0${user}\0${secret}` };
    }
    case 'LOGIN': {
      const name = initial === undefined ? yield* answerTo('Username:') : decoded(initial);
      const password = yield* answerTo('Password:');
      return { mechanism, isRight: name === user && password === secret };
    }
    case 'CRAM-MD5': {
      const challenge = '<1896.697170952@sink.test>';
      const digest = createHmac('md5', secret).update(challenge).digest('hex');
      return { mechanism, isRight: (yield* answerTo(challenge)) === `${user} ${digest}` };
    }
    case 'XOAUTH2': {
      const said = initial === undefined ? yield* answerTo('') : decoded(initial);
      const isRight = said === `user=${user}\u0001auth=Bearer ${secret}\u0001\u0001`;
      // The client has to answer the description of the fault with an empty line.
      if (!isRight) yield inBase64('{"status":"400","schemes":"Bearer"}');
      return { mechanism, isRight };
    }
    default:
      return { mechanism, isRight: false };
  }
}
