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
  /** Each with the questions under way in it. */
  const patient = new Map<NodeResolver, number>();
  /** One that has had no answer yet, and so has measured nothing: thousands of questions to silent servers share it. */
  let unmeasured: NodeResolver | undefined;
  let isClosed = false;
  const patientAsk = async <T>(query: (dns: NodeResolver) => Promise<T>): Promise<T> => {
    const dns = (unmeasured ??= open(1));
    patient.set(dns, (patient.get(dns) ?? 0) + 1);
    let isSilent = false;
    try {
      return await query(dns);
    } catch (error) {
      isSilent = isTimeout(error);
      throw error;
    } finally {
      const left = (patient.get(dns) ?? 1) - 1;
      if (left > 0) patient.set(dns, left);
      else patient.delete(dns);
      if (unmeasured === dns && (!isSilent || left === 0)) unmeasured = undefined;
    }
  };
  return {
    async ask<T>(query: (dns: NodeResolver) => Promise<T>): Promise<T> {
      const began = performance.now();
      try {
        return await query(first);
      } catch (error) {
        const isTooSoon = performance.now() - began < timeoutMs * tries - TIMER_MS;
        if (isClosed || !isTooSoon || !isTimeout(error)) throw error;
      }
      return patientAsk(query);
    },
    /** Whatever is under way ends as cancelled. */
    close(): void {
      isClosed = true;
      first.cancel();
      for (const dns of patient.keys()) dns.cancel();
    },
  };
}

const isTimeout = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ETIMEOUT';

/** Timers may fire a little early. */
const TIMER_MS = 20;
