import type { PostFault } from '../../../platform/fetch/index.ts';

/**
 * The text for the team. A name that does not exist and one that leads into a private network read alike, or that
 * network could be mapped.
 */
export function sentenceOf(fault: PostFault, timeoutMs: number): string {
  switch (fault.kind) {
    case 'blocked':
      return 'The host of the endpoint has no public address.';
    case 'unreachable':
      return 'The endpoint could not be reached.';
    case 'tls':
      return `The TLS handshake failed: ${fault.code}.`;
    case 'timeout':
      return `The endpoint did not answer within ${timeoutMs / 1000} seconds.`;
    case 'interrupted':
      return 'The endpoint closed the connection before its answer was complete.';
    case 'unreadable':
      return fault.wrong === 'syntax' ? `The answer is not HTTP/1.1: ${fault.reason}.` : UNREADABLE[fault.wrong];
  }
}

const UNREADABLE = {
  upgrade: 'The endpoint answered 101 Switching Protocols, which it was not asked for.',
  interim: 'The endpoint sent more than 16 interim answers (1xx), or one of more than 8 KB, and no final one.',
  endless: 'The endpoint sent more than 128 KB that did not make an answer.',
  headers: 'The headers of the answer are longer than 16 KB.',
  length: 'The Content-Length of the answer contradicts itself or does not fit its body.',
};
