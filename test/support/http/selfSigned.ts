import { generateKeyPairSync, sign } from "node:crypto";

export interface SelfSigned {
  /** Both in PEM. */
  readonly cert: string;
  readonly key: string;
}

/** A self-signed certificate for `localhost`, generated so that the repository contains no key. */
export function selfSigned({ until = new Date(Date.now() + 86_400_000) }: { readonly until?: Date } = {}): SelfSigned {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const ecdsaWithSha256 = sequence(objectId("2a8648ce3d040302"));
  const name = sequence(tagged(0x31, sequence(objectId("550403"), tagged(0x0c, Buffer.from("localhost")))));
  const altNames = sequence(objectId("551d11"), tagged(0x04, sequence(tagged(0x82, Buffer.from("localhost")))));
  const toBeSigned = sequence(
    tagged(0xa0, integer(2)),
    integer(1),
    ecdsaWithSha256,
    name,
    sequence(time(new Date("2020-01-01")), time(until)),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    tagged(0xa3, sequence(altNames)),
  );
  const signature = Buffer.concat([Buffer.from([0]), sign("sha256", toBeSigned, privateKey)]);
  return {
    cert: pem("CERTIFICATE", sequence(toBeSigned, ecdsaWithSha256, tagged(0x03, signature))),
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

function tagged(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return tagged(0x30, Buffer.concat(parts));
}

function objectId(hex: string): Buffer {
  return tagged(0x06, Buffer.from(hex, "hex"));
}

function integer(value: number): Buffer {
  return tagged(0x02, Buffer.from([value]));
}

function time(date: Date): Buffer {
  return tagged(0x18, Buffer.from(`${date.toISOString().replaceAll(/[-:T]/g, "").slice(0, 14)}Z`));
}

function pem(label: string, der: Buffer): string {
  return `-----BEGIN ${label}-----\n${der.toString("base64").replaceAll(/.{64}/g, "$&\n")}\n-----END ${label}-----\n`;
}
