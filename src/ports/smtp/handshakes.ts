import { whoMakesWay } from './make-way.ts';

/** Connections in a TLS handshake, which are no connections of SMTP yet. */
export interface Handshakes {
  /** Whether one more from this address may begin; where all are under way, the oldest of the address with most makes way. */
  admits(party: string): boolean;
  /** Counts one, which `cut` ends; call what it answers when the handshake is over. */
  begin(party: string, cut: () => void): () => void;
}

interface Handshake {
  party: string;
  cut: () => void;
  end: () => void;
}

export function createHandshakes(max: { total: number; perAddress: number }): Handshakes {
  /** The oldest first. */
  const all = new Set<Handshake>();
  return {
    admits(party) {
      let others = 0;
      for (const one of all) if (one.party === party) others++;
      if (others >= max.perAddress) return false;
      if (all.size < max.total) return true;
      const leaving = whoMakesWay(all, (one) => ({ party: one.party, rank: 0 }), party);
      leaving?.cut();
      leaving?.end();
      return leaving !== undefined;
    },
    begin(party, cut) {
      const one: Handshake = { party, cut, end: () => void all.delete(one) };
      all.add(one);
      return one.end;
    },
  };
}
