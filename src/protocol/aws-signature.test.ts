import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { EMPTY_BODY_HASH, encodedPath, signRequest } from './aws-signature.ts';

/** The examples of Amazon's page "Signature Calculations for the Authorization Header". */
const KEY = {
  accessKey: 'AKIAIOSFODNN7EXAMPLE',
  secretKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  region: 'us-east-1',
};
const AT = Date.UTC(2013, 4, 24);
const HOST = 'examplebucket.s3.amazonaws.com';

const signatureIn = (headers: Record<string, string>) => /Signature=(\w+)$/.exec(headers['authorization'] ?? '')?.[1];

describe('the published examples of AWS signatures', () => {
  it('are reproduced for the GET of a range', () => {
    const request = { method: 'GET', path: '/test.txt', headers: { host: HOST, range: 'bytes=0-9' } };
    const headers = signRequest({ ...request, bodyHash: EMPTY_BODY_HASH }, KEY, AT);
    expect(signatureIn(headers)).toBe('f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41');
    expect(headers['authorization']).toContain(
      'Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, SignedHeaders=host;range;x-amz-content-sha256;x-amz-date',
    );
  });

  it('are reproduced for a PUT with an encoded character in its path', () => {
    const headers = {
      host: HOST,
      date: 'Fri, 24 May 2013 00:00:00 GMT',
      'x-amz-storage-class': 'REDUCED_REDUNDANCY',
    };
    const bodyHash = createHash('sha256').update('Welcome to Amazon S3.').digest('hex');
    const signed = signRequest({ method: 'PUT', path: '/test$file.text', headers, bodyHash }, KEY, AT);
    expect(signatureIn(signed)).toBe('98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd');
  });

  it('are reproduced for queries with a name without a value and with several names', () => {
    const of = (query: Record<string, string>) =>
      signatureIn(
        signRequest({ method: 'GET', path: '/', query, headers: { host: HOST }, bodyHash: EMPTY_BODY_HASH }, KEY, AT),
      );
    expect(of({ lifecycle: '' })).toBe('fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543');
    expect(of({ prefix: 'J', 'max-keys': '2' })).toBe(
      '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
    );
  });
});

it('every reserved octet of a path is percent-encoded, except slashes', () => {
  expect(encodedPath("/a b/ä/(x)'*!~-._")).toBe('/a%20b/%C3%A4/%28x%29%27%2A%21~-._');
});
