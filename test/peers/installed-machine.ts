import { readFileSync } from 'node:fs';
import path from 'node:path';
import ipaddr from 'ipaddr.js';
import { vi } from 'vitest';
import { Machine, type Ended } from '../install/machine.ts';
import { root } from '../install/tree.ts';
import { Internet, MACHINE, type InternetPlan, type Line } from './internet.ts';

/** Matches the command that a new sysadmin types first, in docs/installing.md. */
const SET_UP = /^sudo (rasket setup --yes .*)$/m;

/** A machine on an internet of its own that was installed and set up as the docs say, and nothing else. */
export class InstalledMachine {
  readonly machine = new Machine({ hasPrivilege: true });
  readonly internet = new Internet(this.machine);
  /** The API key that setup showed, and the command for the first email. */
  key = '';
  firstEmail = '';

  /** Installs and sets up; returns what setup said. */
  async start(plan: InternetPlan): Promise<string> {
    await this.machine.start();
    await this.internet.start(plan);
    this.type('sh /opt/rasket/install.sh');
    // Programs recognize by this folder that systemd runs.
    this.type('mkdir -p /run/systemd/system');
    const said = this.type(readDocs('installing.md', SET_UP));
    this.key = /^API key {2}(rk_.*)$/m.exec(said)?.[1] ?? '';
    this.firstEmail = /^curl [^}]*\}'$/m.exec(said)?.[0] ?? '';
    return said;
  }

  /** Publishes what setup printed, and has the domain verified. */
  async verifyDomain(said: string): Promise<void> {
    const machine = /^; This machine\n(.*?)\n(?=DNS has|- )/ms.exec(said)?.[1] ?? '';
    const domain = /^; example\.com, .*?\n(.*?)\nPublish/ms.exec(said)?.[1] ?? '';
    await this.internet.publish(`${machine}\n${domain}\n${reverseName(MACHINE.v4)}. IN PTR mail.example.com.`);
    this.type('rasket login --api-key', this.key);
    this.type('rasket domains verify example.com');
  }

  /** Sends an email to somebody, and returns what the receivers saw of it once there are so many lines. */
  async send(to: string, lines = 1): Promise<Line[]> {
    const before = this.internet.lines().length;
    this.type(`rasket send --from hello@example.com --to ${to} --subject Hello --text 'It works.'`);
    const seen = (): Line[] => this.internet.lines().slice(before);
    await vi.waitFor(
      () => {
        if (seen().length < lines) throw new Error(`of ${to}, the receivers saw ${JSON.stringify(seen())}`);
      },
      { timeout: 60_000, interval: 50 },
    );
    return seen();
  }

  /** A line as root types it, which has to end well. */
  type(line: string, input = ''): string {
    const ended = this.tryTo(line, input);
    if (ended.status === 0) return ended.stdout;
    const log = this.machine.type('tail -20 /var/lib/service.log').stdout;
    throw new Error(`${line} ended with ${ended.status}\n${ended.stdout}${ended.stderr}\n${log}`);
  }

  tryTo(line: string, input = ''): Ended {
    return this.machine.type(line, input, 300_000);
  }

  stop(): Promise<void> {
    return this.machine.stop();
  }
}

/** The part of a page of docs/ that is to be typed. */
export function readDocs(page: string, pattern: RegExp): string {
  const found = pattern.exec(readFileSync(path.join(root, 'docs', page), 'utf8'))?.[1];
  if (found === undefined) throw new Error(`docs/${page} has nothing like ${pattern}`);
  return found;
}

/** The name in reverse DNS of an address. */
export function reverseName(address: string): string {
  if (!address.includes(':')) return `${address.split('.').toReversed().join('.')}.in-addr.arpa`;
  const { parts } = ipaddr.IPv6.parse(address);
  const digits = parts.map((part) => part.toString(16).padStart(4, '0')).join('');
  return `${[...digits].toReversed().join('.')}.ip6.arpa`;
}
