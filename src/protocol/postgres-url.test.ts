import { expect, test } from 'vitest';
import { formatHost, parsePostgresUrl } from './postgres-url.ts';

const list = (text: string): string[] | undefined => parsePostgresUrl(text)?.hosts.map(formatHost);

test.each([
  ['postgres://u:p@db.example.com:5433/rasket', ['db.example.com:5433']],
  ['postgres://u:p@db1:5432,db2:5433/rasket', ['db1:5432', 'db2:5433']],
  ['postgres://db1,db2/rasket', ['db1', 'db2']],
  ['postgresql://u@[2001:db8::1]:5433,[::1],10.0.0.1:5434/rasket', ['[2001:db8::1]:5433', '[::1]', '10.0.0.1:5434']],
  ['postgres://u:p%40x%2Cy@db1,db2:5433/rasket', ['db1', 'db2:5433']],
  ['postgres://u:a@b@db1,db2/rasket', ['db1', 'db2']],
  ['postgres://u@/rasket?host=/run/a,/run/b&port=5432,5433', ['/run/a:5432', '/run/b:5433']],
  ['postgres://u@/rasket?host=db1,db2,db3&port=5433', ['db1:5433', 'db2:5433', 'db3:5433']],
  ['postgres://u@%2Frun%2Fa,%2Frun%2Fb/rasket', ['/run/a', '/run/b']],
  ['postgres://u@ignored:1/rasket?host=db1,db2&port=2,3', ['db1:2', 'db2:3']],
  ['postgres:///rasket', ['']],
])('the servers of %s are read', (url, hosts) => {
  expect(list(url)).toEqual(hosts);
});

test.each([
  ['no host for a user', 'postgres://u@/rasket'],
  ['an empty host', 'postgres://u@db1,/rasket'],
  ['an empty host of the query', 'postgres://u@/rasket?host=db1,,db2'],
  ['fewer ports than hosts', 'postgres://u@/rasket?host=db1,db2,db3&port=5432,5433'],
  ['more ports than hosts', 'postgres://u@/rasket?host=db1&port=5432,5433'],
  ['a port that is no number', 'postgres://u@db1:five,db2/rasket'],
  ['a port that is too large', 'postgres://u@db1,db2:65536/rasket'],
  ['an address of IPv6 without brackets', 'postgres://u@::1,db2/rasket'],
  ['an unescaped # in the password', 'postgres://u:a#b@db1,db2/rasket'],
  ['the scheme of another database', 'mysql://u@db1,db2/rasket'],
])('a URL with %s is refused', (_, url) => {
  expect(parsePostgresUrl(url)).toBeUndefined();
});

test('a URL for one of several servers has that server and keeps all else', () => {
  const parsed = parsePostgresUrl('postgres://u:p%40x@[::1]:5433,db2/rasket?sslmode=verify-full');
  const single = parsed?.hosts.map((host) => new URL(parsed.withHost(host)));
  expect(single?.map(({ searchParams }) => Object.fromEntries(searchParams))).toEqual([
    { host: '::1', port: '5433', sslmode: 'verify-full' },
    { host: 'db2', sslmode: 'verify-full' },
  ]);
  expect(single?.map(({ username, password, pathname }) => [username, password, pathname])).toEqual([
    ['u', 'p%40x', '/rasket'],
    ['u', 'p%40x', '/rasket'],
  ]);
});

test('a URL with one server stays as it is', () => {
  const url = 'postgres://u:p@db.example.com/rasket?target_session_attrs=primary';
  const parsed = parsePostgresUrl(url);
  expect(parsed?.hosts.map((host) => parsed.withHost(host))).toEqual([url]);
  expect(parsed?.target).toBe('primary');
});

test('a URL is shown without its passwords', () => {
  expect(parsePostgresUrl('postgres://u:secret@db1:1,db2/rasket?password=hidden')?.masked).toBe(
    'postgres://u:***@db1:1,db2/rasket?password=***',
  );
});
