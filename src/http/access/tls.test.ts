import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { connect } from "node:tls";
import { describe, expect, it, onTestFinished } from "vitest";
import { eventually } from "../../../test/support/eventually.js";
import { type SelfSigned, selfSigned } from "../../../test/support/http/selfSigned.js";
import { loadTls, renewTls } from "./tls.js";

function stage(material: SelfSigned = selfSigned()) {
  const folder = mkdtempSync(path.join(tmpdir(), "tls-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const files = { cert: path.join(folder, "cert.pem"), key: path.join(folder, "key.pem") };
  const reports: string[] = [];
  const write = ({ cert, key }: SelfSigned) => {
    writeFileSync(files.cert, cert);
    writeFileSync(files.key, key);
  };
  write(material);
  return { files, write, reports, report: (line: string) => reports.push(line) };
}

async function startHttps({ files, report }: ReturnType<typeof stage>) {
  const server = createServer(loadTls(files, report));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return { server, port: (server.address() as AddressInfo).port };
}

/** Connects as a client that trusts only this certificate. */
async function trusting(cert: string, port: number): Promise<string> {
  const socket = connect({ host: "127.0.0.1", port, servername: "localhost", ca: cert });
  try {
    await once(socket, "secureConnect");
    return "trusted";
  } catch {
    return "not trusted";
  } finally {
    socket.destroy();
  }
}

it("a certificate and its key serve clients that trust it", async () => {
  const material = selfSigned();
  const { port } = await startHttps(stage(material));
  expect(await trusting(material.cert, port)).toBe("trusted");
  expect(await trusting(selfSigned().cert, port)).toBe("not trusted");
});

it("a new certificate is served without a restart; a key without its certificate is not", async () => {
  const staged = stage();
  const { server, port } = await startHttps(staged);
  const watched = renewTls(server, staged.files, staged.report);
  onTestFinished(() => watched.close());
  writeFileSync(staged.files.key, selfSigned().key);
  await eventually("the wrong key is reported", () =>
    staged.reports.find((line) => line.startsWith("the previous TLS certificate stays in use: ")),
  );
  const renewed = selfSigned();
  staged.write(renewed);
  await eventually("the certificate is read", () =>
    staged.reports.find((line) => line === `read the TLS certificate ${staged.files.cert} again`),
  );
  expect(await trusting(renewed.cert, port)).toBe("trusted");
});

it("an expired certificate is used and reported", () => {
  const { files, report, reports } = stage(selfSigned({ until: new Date("2021-02-03T04:05:06Z") }));
  loadTls(files, report);
  expect(reports).toEqual([`the TLS certificate ${files.cert} has expired on Feb  3 04:05:06 2021 GMT`]);
});

describe("cannot be used:", () => {
  it("a key of another certificate", () => {
    const { files, report } = stage({ cert: selfSigned().cert, key: selfSigned().key });
    expect(() => loadTls(files, report)).toThrow(`the TLS key ${files.key} is not the key of the certificate ${files.cert}`);
  });

  it("a file that is not there", () => {
    const { files, report } = stage();
    rmSync(files.key);
    expect(() => loadTls(files, report)).toThrow(`the TLS key ${files.key} cannot be read: ENOENT`);
  });

  it("a file that is not a certificate, or not a key", () => {
    const { cert, key } = selfSigned();
    const swapped = stage({ cert: key, key: cert });
    expect(() => loadTls(swapped.files, swapped.report)).toThrow(`there is no PEM certificate in ${swapped.files.cert}`);
    const keyless = stage({ cert, key: "" });
    expect(() => loadTls(keyless.files, keyless.report)).toThrow(`the TLS key ${keyless.files.key} is not a PEM private key`);
  });

  it("a key with a passphrase", () => {
    const { privateKey } = generateKeyPairSync("ec", {
      namedCurve: "P-256",
      publicKeyEncoding: { type: "spki", format: "pem" },
      privateKeyEncoding: { type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "secret" },
    });
    const { files, report } = stage({ cert: selfSigned().cert, key: privateKey });
    expect(() => loadTls(files, report)).toThrow(`the TLS key ${files.key} is encrypted; it has to be without a passphrase`);
  });
});
