# What `phase-worker gpus` reports about a scripted driver (tests/fake/nvml.c).

bats_require_minimum_version 1.5.0

setup() {
    FAKES=${BIN:-$BATS_TEST_DIRNAME/../../build/bin}/../tests/fake
    export PHASED_NVML=$FAKES/libnvidia-ml.so
    unset CUDA_VISIBLE_DEVICES FAKE_NVML
    sampler=${BIN:-$BATS_TEST_DIRNAME/../../build/bin}/phase-worker
}

# told SCRIPT FILTER [OPTION]...: what the sampler reports when the driver follows this script.
told() {
    FAKE_NVML=$1 "$sampler" gpus "${@:3}" | gojq -c "$2"
}

@test "a healthy driver reports every column of each GPU" {
    # The counters of GPM are differences to the values of a second earlier.
    run -0 told "" 'select(.time) | del(.time) | [.[] | length] | [length, min, max]' --seconds 2
    [ "$output" = "$(printf '[12,8,8]\n[14,8,8]')" ]
    run -0 told "hot=2" 'select(.time) | [.util[2], .memory_mib[2], .power_w[2], .temperature_c[2],
        .sm_clock_mhz[2], .clock_reasons[2], .ecc_uncorrected[2]]' --seconds 1
    [ "$output" = "[97,4,652,91,1200,32,0]" ]
    run -0 told "" 'select(.devices).devices | [.gpus[7], .models[7], .uuids[7], .memory_mib[7]]' --seconds 1
    [ "$output" = '[7,"NVIDIA H200","GPU-70000000",140000]' ]
}

@test "a value that a driver does not support is absent, not zero" {
    run -0 told plain 'select(.time) | keys' --seconds 2
    [ "${lines[1]}" = '["clock_reasons","gpus","memory_mib","memory_util","power_w","temperature_c","time","util"]' ]
    run -0 told nogpm 'select(.time) | [has("util"), has("sm_active"), has("tensor_active")]' --seconds 2
    [ "${lines[1]}" = "[true,false,false]" ]
    # A driver may support only a part of GPM.
    run -0 told "" 'select(.time) | [.tensor_active[0], has("dram_active")]' --seconds 2
    [ "${lines[1]}" = "[41.5,false]" ]
}

@test "a driver that lacks most symbols still reports which GPUs exist" {
    PHASED_NVML=$FAKES/libnvidia-ml-old.so run -0 told "" 'del(.time)' --seconds 1
    [ "${lines[0]}" = "$(gojq -nc '{devices: {gpus: [range(8)], models: [range(8) | "NVIDIA H200"],
        uuids: [range(8) | "GPU-\(.)0000000"], memory_mib: [range(8) | null]}}')" ]
    [ "${lines[1]}" = '{"gpus":[0,1,2,3,4,5,6,7]}' ]
}

@test "a GPU that falls off the bus is reported once, and the other GPUs are still sampled" {
    run -0 told falls=3 'select(.devices | not) | [.lost, .why, .util]' --seconds 2
    [ "${lines[0]}" = '[3,"GPU is lost",null]' ]
    [ "${lines[2]}" = '[null,null,[97,97,97,null,97,97,97,97]]' ]
    [ "${#lines[@]}" = 3 ]
    # The same holds if the GPU was gone before the start.
    run -0 told lost=0,count=2 'select(.lost)' --seconds 1
    [ "$output" = '{"lost":0,"why":"GPU is lost"}' ]
    # The reason is that of the driver, also for a GPU that this user may not use.
    run -0 told denied=0,count=2 'select(.lost)' --seconds 1
    [ "$output" = '{"lost":0,"why":"Insufficient Permissions"}' ]
}

@test "an Xid is reported with its GPU, and stays the last Xid of that GPU" {
    run -0 told xid=79 'select(.xid) | [.xid, .gpu]' --seconds 2
    [ "${lines[0]}" = "[79,1]" ]
    [ "${lines[1]}" = "[[null,79,null,null,null,null,null,null],null]" ]
    [ "${lines[2]}" = "${lines[1]}" ]
}

@test "only the allocated GPUs are reported, whether they are given by number or by UUID" {
    run -0 told "" 'select(.time).gpus' --seconds 1 --devices 2,GPU-5
    [ "$output" = "[2,5]" ]
    CUDA_VISIBLE_DEVICES=7 run -0 told "" 'select(.time).gpus' --seconds 1
    [ "$output" = "[7]" ]
    run -0 told "" 'select(.time).gpus' --seconds 1 --devices 0,-1,1
    [ "$output" = "[0]" ]
}

@test "without a driver or GPUs, the sampler prints one line that says so" {
    local script
    for script in unloaded count=0; do
        FAKE_NVML=$script run -1 "$sampler" gpus --seconds 1
        [ "$(gojq -c keys <<<"$output")" = '["absent"]' ]
    done
    run -1 "$sampler" gpus --seconds 1 --nvml /nowhere/libnvidia-ml.so.1
    [ "$output" = '{"absent":"/nowhere/libnvidia-ml.so.1: cannot be loaded"}' ]
    FAKE_NVML=broken run -1 "$sampler" gpus --seconds 1
    [ "$output" = '{"trouble":"nvmlInit: Unknown"}' ]
}

@test "output of the driver's library does not get between the lines of the sampler" {
    run -0 told loud '.time != null' --seconds 1
    [ "$output" = "$(printf 'false\ntrue')" ]
}
