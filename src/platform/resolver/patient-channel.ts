import { Resolver as NodeResolver } from 'node:dns/promises';

export interface PatientChannelOptions {
  servers: readonly string[];
  timeoutMs: number;
  tries: number;
}

/**
 * Asks the name servers, and waits for them as long as it was told to. The library measures how fast each server is and
 * soon waits but five times that, a quarter of a second for a fast one: an answer that its server has to fetch from far away
 * would be given up. What is given up before its time is asked once more by a channel that has not measured anything.
 */
export function createPatientChannel({ servers, timeoutMs, tries }: PatientChannelOptions) {
  const open = (times: number): NodeResolver => {
    const dns = new NodeResolver({ timeout: timeoutMs, tries: times });
    if (servers.length > 0) dns.setServers(servers);
    return dns;
  };
  const first = open(tries);
  const patient = new Set<NodeResolver>();
  let isClosed = false;
  return {
    async ask<T>(query: (dns: NodeResolver) => Promise<T>): Promise<T> {
      const began = performance.now();
      try {
        return await query(first);
      } catch (error) {
        const isTooSoon = performance.now() - began < timeoutMs * tries - TIMER_MS;
        if (isClosed || !isTooSoon || (error as NodeJS.ErrnoException).code !== 'ETIMEOUT') throw error;
      }
      const dns = open(1);
      patient.add(dns);
      try {
        return await query(dns);
      } finally {
        patient.delete(dns);
      }
    },
    /** Whatever is under way ends as cancelled. */
    close(): void {
      isClosed = true;
      first.cancel();
      for (const dns of patient) dns.cancel();
    },
  };
}

/** Timers may fire a little early. */
const TIMER_MS = 20;
